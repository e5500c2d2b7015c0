import { z } from 'zod';
import { environmentName } from '../../src/config/environment.ts';
import { optionFlags } from '../../src/config/flags.ts';
import { codeSandboxSchema } from '../../src/config/profiles/code-sandbox.ts';
import { configSchema, limitsSchema } from '../../src/config/schema.ts';

/** docs/configuration.md, from the one schema of options. */
export function configurationPage(): string {
  const all = Object.entries(propertiesOf(configSchema));
  const groups = [...new Set(all.map(([, { group }]) => group))];
  const options = groups.map((group) =>
    optionTable(
      group!,
      all.filter(([, property]) => property.group === group),
    ),
  );
  const limits = Object.entries(propertiesOf(limitsSchema)).map(
    ([name, property]) => `| \`${name}\` | ${property.description} | ${byDefault(property)} | ${allowed(property)} |`,
  );
  const codeSandbox = Object.entries(propertiesOf(codeSandboxSchema)).map(
    ([name, property]) =>
      `| \`${environmentName(name, 'SANDBOX')}\` | ${property.description} | ${byDefault(property)} | ${allowed(property)} |`,
  );
  return `# Configuration

<!-- Generated from src/config/schema.ts: change that, then run \`npx vitest run test/documents.test.ts -u\`. -->

Set options as flags or in \`openHotcell({ … })\`, in the environment, or in a configuration file. Precedence: flags and
arguments, then the environment, then the file, then defaults. Separate the items of a list in the environment with
commas.

\`hotcell serve\`, \`hotcell mcp\` and \`hotcell install\` have a flag for each option in the tables. A flag for a list is
repeated; sizes and times take units (\`--memory 4g\`, \`--timeout 2m\`). \`hotcell install\` writes its flags into the entry
of the client. Options of HTTP have flags with \`serve\` only.

The configuration file is \`config.json\` in the data folder (\`~/.local/share/hotcell\`, or \`/var/lib/hotcell\` for root),
or the file of \`--config FILE\` or \`HOTCELL_CONFIG\`. It is JSON with comments and trailing commas; an unknown name is an
error. Hotcell never reads a file of the current folder, so that a repository cannot configure its own sandbox. A file
with \`linkSecret\` that other users can read is an error: \`chmod 600\` it. [config.schema.json](../config.schema.json)
describes it for editors.

\`\`\`jsonc
{
  "$schema": "https://unpkg.com/hotcell/config.schema.json",
  "isolation": "docker",
  "mountRoots": ["/srv/data"], // its subfolders may be mounted
  "profiles": { "code-sandbox": { "execTimeoutS": 120 } },
}
\`\`\`

\`\`\`console
$ hotcell config
isolation   "docker"  (/home/ada/.local/share/hotcell/config.json)
mountRoots  ["/srv/data"]  (/home/ada/.local/share/hotcell/config.json)
logLevel    "debug"  (HOTCELL_LOG_LEVEL)
hotcell: 48 options have their default; --all lists them.
$ hotcell config check
/home/ada/.local/share/hotcell/config.json: ok, 2 options set.
\`\`\`

${options.join('\n\n')}

## Folders and tokens

Two folders are set in the environment only. The data folder is \`HOTCELL_HOME\`; by default \`/var/lib/hotcell\` for root,
otherwise \`hotcell\` in your data folder (\`XDG_DATA_HOME\`, \`~/.local/share\`). The folder for sockets is \`run\` in
\`HOTCELL_HOME\`; by default \`/run/hotcell\` for root, otherwise \`hotcell\` in \`XDG_RUNTIME_DIR\` or \`hotcell-UID\` in the
temporary folder. A relative \`HOTCELL_HOME\` is taken from the current folder; \`hotcell mcp\` refuses it, because a client
may start it in any folder.

Both folders, and all files that Hotcell creates in them, must belong to you, and no other user may write to them or to
a parent folder (except folders with the sticky bit, such as \`/tmp\`). Otherwise Hotcell refuses to start and names the
folder: remove the permission (\`chmod go-w FOLDER\`), or choose another folder. The data folder may belong to root, for
volumes. Servers of one installation find each other through the data folder, whatever \`XDG_RUNTIME_DIR\` each was
started with.

\`HOTCELL_TOKEN\` is the default token of \`hotcell run --server\`.

## Limits of a session

Pass them to \`hotcell.open({ limits: { … } })\`. The files of a sandbox are in its memory, so \`diskBytes\` cannot exceed
\`memoryBytes\`; if you set only \`memoryBytes\`, the disk gets half of it, at most 1 GiB.

| limit | meaning | default | allowed |
|---|---|---|---|
${limits.join('\n')}

## The profile \`code-sandbox\`

With this profile ([guide](guides/coming-from-code-sandbox.md)) the server also reads these settings. In a configuration
file they are below \`profiles.code-sandbox\`, as in the example above. Address, port, sessions, output and log replace
the defaults of the whole server; an option above that you set wins. The isolation is \`docker\` unless you choose
another.

| environment | meaning | default | allowed |
|---|---|---|---|
${codeSandbox.join('\n')}
`;
}

function optionTable(group: string, members: readonly (readonly [string, Property])[]): string {
  const rows = members.map(
    ([name, property]) =>
      `| \`${name}\` | \`${environmentName(name)}\`${flagText(name)} | ${property.description} | ${byDefault(property)} | ${allowed(property)} |`,
  );
  return `## ${group}\n\n| option | environment, flag | meaning | default | allowed |\n|---|---|---|---|---|\n${rows.join('\n')}`;
}

const FLAGS = new Map(optionFlags('serve').map(({ option, name }) => [option as string, name]));

function flagText(name: string): string {
  const flag = FLAGS.get(name);
  return flag === undefined ? '' : ` \`${flag}\``;
}

interface Property {
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly items?: Property;
  /** The heading that the option is listed under. */
  readonly group?: string;
  /** The allowed values, where the type says too little. */
  readonly allowed?: string;
}

function propertiesOf(schema: z.ZodType): Record<string, Property> {
  // The output types: in the environment numbers are text, and every option has a default.
  return z.toJSONSchema(schema, { io: 'output' }).properties as Record<string, Property>;
}

function byDefault({ default: value }: Property): string {
  if (value === undefined || (typeof value === 'object' && Object.keys(value as object).length === 0)) return 'none';
  if (Array.isArray(value)) return value.map((item) => `\`${item}\``).join(', ');
  return typeof value === 'number' ? number(value) : `\`${String(value)}\``;
}

function allowed({ enum: values, type, minimum, maximum, items, allowed: said }: Property): string {
  if (said !== undefined) return said;
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(', ');
  if (items?.type === 'object') return 'a list of recipes';
  if (type === 'array') return `a list of ${items?.pattern === undefined ? 'paths' : 'module names'}`;
  if (type === 'string') return 'a name';
  if (maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER) return `at least ${number(minimum ?? 0)}`;
  return `${number(minimum ?? 0)} to ${number(maximum)}`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
