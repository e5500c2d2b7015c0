/**
 * Removes unreachable code from the bundle, because it slows down the start: a stdio server is started for every window
 * of a client, and a third of that time is parsing. Messages are in English only, and no tool sends an elicitation
 * (`NO_ELICITATION` in src/mcp/server.ts).
 */
export const leanBundle = {
  name: 'lean-bundle',
  setup(build) {
    // The fifty translations of zod's messages.
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
    // SECURITY: optional dependencies of dockerode's libraries. As externals they would be looked up in every
    // node_modules above, in ~/.node_modules and in NODE_PATH.
    build.onResolve({ filter: /^(cpu-features|supports-color)$|\.node$/ }, ({ path }) => ({
      path,
      namespace: 'absent',
    }));
    build.onLoad({ filter: /.*/, namespace: 'absent' }, ({ path }) => ({
      contents: `throw new Error(${JSON.stringify(`${path} is not in this bundle`)});`,
      loader: 'js',
    }));
    // The JSON schema validator for answers to an elicitation.
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
