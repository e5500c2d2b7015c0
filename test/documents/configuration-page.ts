import { z } from 'zod';
import { environmentName } from '../../src/config/environment.ts';
import { codeSandboxSchema } from '../../src/config/profiles/code-sandbox.ts';
import { configSchema, limitsSchema } from '../../src/config/schema.ts';

/** docs/configuration.md, from the one schema of options. */
export function configurationPage(): string {
  const options = Object.entries(propertiesOf(configSchema)).map(
    ([name, property]) =>
      `| \`${name}\` | \`${environmentName(name)}\` | ${property.description} | ${byDefault(property)} | ${allowed(property)} |`,
  );
  const limits = Object.entries(propertiesOf(limitsSchema)).map(
    ([name, property]) => `| \`${name}\` | ${property.description} | ${byDefault(property)} | ${allowed(property)} |`,
  );
  const codeSandbox = Object.entries(propertiesOf(codeSandboxSchema)).map(
    ([name, property]) =>
      `| \`${environmentName(name, 'SANDBOX')}\` | ${property.description} | ${byDefault(property)} | ${allowed(property)} |`,
  );
  return `# Configuration

<!-- Made from src/config/schema.ts: change that, then run \`npx vitest run test/documents.test.ts -u\`. -->

Set options as flags or in \`openHotcell({ … })\`, in the environment, or in a configuration file. Flags and arguments win over the environment, the environment
wins over the file, and the file over defaults. A list in the environment is separated by commas.

The configuration file is \`config.json\` in the data folder (\`~/.local/share/hotcell\`, or \`/var/lib/hotcell\` for root), or the one that \`--config FILE\` or \`HOTCELL_CONFIG\`
names. It is JSON with comments and trailing commas; an unknown name is refused. No file of the current folder is ever read, so that a repository cannot configure
its own sandbox. A file with \`linkSecret\` that every user can read is refused: \`chmod 600\` it. [config.schema.json](../config.schema.json) describes it for editors.

\`\`\`jsonc
{
  "$schema": "https://unpkg.com/hotcell/config.schema.json",
  "isolation": "docker",
  "mountRoots": ["/srv/data"], // folders below it may be mounted
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

| option | environment | it means | default | allowed |
|---|---|---|---|---|
${options.join('\n')}

Two folders come from the environment alone. \`HOTCELL_HOME\` is where Hotcell keeps what it makes; without it that is
\`/var/lib/hotcell\` for root, else \`hotcell\` in your data folder (\`XDG_DATA_HOME\`, \`~/.local/share\`). Sockets go to
\`run\` in \`HOTCELL_HOME\`, else to \`/run/hotcell\` for root, else to \`hotcell\` in \`XDG_RUNTIME_DIR\` or \`hotcell-UID\` in the temporary folder.

Both folders, and all that Hotcell makes in them, must be yours, and no other user may write to them or to a folder on the way (\`/tmp\` and its like, where the
sticky bit is set, may be on the way). Otherwise Hotcell refuses to start and says which folder it is: close it (\`chmod go-w FOLDER\`), or name another. The data folder may be
root's, for volumes. Servers of one installation find each other through the data folder, whatever \`XDG_RUNTIME_DIR\` each was started with.

\`HOTCELL_TOKEN\` is the token that \`hotcell run --server\` sends where none is named.

## Limits of a session

Give them to \`hotcell.open({ limits: { … } })\`. Files of a sandbox live in its memory, so \`diskBytes\` cannot exceed
\`memoryBytes\`; if you set only \`memoryBytes\`, the disk gets half of it, at most 1 GiB.

| limit | it means | default | allowed |
|---|---|---|---|
${limits.join('\n')}

## The profile \`code-sandbox\`

With it ([guide](guides/coming-from-code-sandbox.md)) the server reads these too. In a configuration file they stand below \`profiles.code-sandbox\`, as in the example above. Address, port, sessions, output and log hold for the whole server, in place of
the defaults above; an option of ours that you set wins. The isolation is \`docker\` unless you name another.

| environment | it means | default | allowed |
|---|---|---|---|
${codeSandbox.join('\n')}
`;
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
  /** Said in the schema, where its type says too little. */
  readonly allowed?: string;
}

function propertiesOf(schema: z.ZodType): Record<string, Property> {
  // What people give: numbers may come as text from the environment, and everything has a default.
  return z.toJSONSchema(schema, { io: 'output' }).properties as Record<string, Property>;
}

function byDefault({ default: value }: Property): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'none';
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
