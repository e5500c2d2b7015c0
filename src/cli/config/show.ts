import { configJsonSchema } from '../../config/json-schema.ts';
import { explainConfig, type Origin } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { standardOutputs } from '../output.ts';

/** Options whose values are secrets. */
const SECRET: ReadonlySet<string> = new Set<keyof Config>(['linkSecret']);

export async function showConfig(flags: { all?: boolean; json?: boolean }): Promise<void> {
  const { config, origins, file } = explainConfig({});
  const options = Object.entries(origins).map(([name, origin]) => ({
    name,
    value: shown(name, config[name as keyof Config]),
    origin,
  }));
  const { stdout, stderr } = standardOutputs();
  if (flags.json) {
    const byName = options.map(({ name, value, origin }) => [name, { value: value ?? null, origin }]);
    return stdout.json({ file: file?.path ?? null, options: Object.fromEntries(byName) });
  }
  const listed = options.filter(({ origin }) => flags.all || origin.kind !== 'default');
  const width = Math.max(...listed.map(({ name }) => name.length), 0);
  for (const { name, value, origin } of listed) {
    await stdout.say(
      `${name.padEnd(width)}  ${value === undefined ? '-' : JSON.stringify(value)}  (${sourceOf(origin)})`,
    );
  }
  const left = options.length - listed.length;
  if (left > 0) await stderr.say(`hotcell: ${left} options have their default; --all lists them.`);
}

export async function printSchema(): Promise<void> {
  await standardOutputs().stdout.json(configJsonSchema());
}

function shown(name: string, value: unknown): unknown {
  return value !== undefined && SECRET.has(name) ? '(set, not shown)' : value;
}

function sourceOf(origin: Origin): string {
  switch (origin.kind) {
    case 'given':
      return 'flag';
    case 'environment':
      return origin.name;
    case 'file':
      return origin.path;
    case 'profile':
      return `profile ${origin.name}`;
    case 'default':
      return 'default';
  }
}
