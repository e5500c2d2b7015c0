/** Descriptions of the package for registries and clients, from package.json. */

const TITLE = 'Hotcell';
/** Short description. The registry allows at most a hundred characters. */
const SHORT = 'Runs code that agents write in a sandbox of your own: live state, files, charts, honest isolation.';

const ISOLATION = {
  name: 'HOTCELL_ISOLATION',
  description: 'auto (the strongest that works), process, docker or gvisor',
  default: 'auto',
};

/** `manifest.json` of an .mcpb bundle. */
export function bundleManifest({ name, version, description, license, keywords, engines }) {
  return {
    manifest_version: '0.3',
    name,
    display_name: TITLE,
    version,
    description,
    author: { name: 'The Hotcell authors' },
    license,
    keywords,
    server: {
      type: 'node',
      entry_point: 'dist/cli.js',
      mcp_config: {
        command: 'node',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills these in
        args: ['${__dirname}/dist/cli.js', 'mcp'],
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills these in
        env: { [ISOLATION.name]: '${user_config.isolation}' },
      },
    },
    tools_generated: true,
    prompts_generated: true,
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: engines.node } },
    user_config: {
      isolation: { type: 'string', title: 'Isolation', description: ISOLATION.description, default: ISOLATION.default },
    },
  };
}

/** `server.json` for the MCP registry. */
export function registryEntry({ name, version, mcpName, repository }) {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: mcpName,
    title: TITLE,
    description: SHORT,
    version,
    repository: { url: repository.url.replace(/^git\+|\.git$/g, ''), source: 'github' },
    packages: [
      {
        registryType: 'npm',
        identifier: name,
        version,
        runtimeHint: 'npx',
        transport: { type: 'stdio' },
        packageArguments: [{ type: 'positional', value: 'mcp' }],
        environmentVariables: [{ ...ISOLATION, choices: ['auto', 'process', 'docker', 'gvisor'] }],
      },
    ],
  };
}
