/**
 * Leaves out of the bundle what only costs a start: a stdio server is started for every window of a client, and a third of that time is the compiler reading. Neither
 * is reached: messages are in English, and no tool asks a client to fill in a form (`NEVER_ASKING` in src/mcp/server.ts).
 */
export const leanBundle = {
  name: 'lean-bundle',
  setup(build) {
    // The fifty translations of zod's messages.
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
    // SECURITY: parts that dockerode's libraries use if they find them. Left outside, they would be looked for in every node_modules above, in ~/.node_modules and in NODE_PATH.
    build.onResolve({ filter: /^(cpu-features|supports-color)$|\.node$/ }, ({ path }) => ({
      path,
      namespace: 'absent',
    }));
    build.onLoad({ filter: /.*/, namespace: 'absent' }, ({ path }) => ({
      contents: `throw new Error(${JSON.stringify(`${path} is not in this bundle`)});`,
      loader: 'js',
    }));
    // A validator of JSON schemas, for what comes back from such forms.
    build.onLoad({ filter: /[\\/]@modelcontextprotocol[\\/]server[\\/]dist[\\/]shimsNode\.mjs$/ }, () => ({
      contents: `export { default as process } from 'node:process';
export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error('there is no validator in this bundle');
  }
}`,
      loader: 'js',
    }));
  },
};
