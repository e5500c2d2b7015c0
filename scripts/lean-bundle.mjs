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
