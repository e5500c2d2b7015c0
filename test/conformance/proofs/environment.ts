import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { standardEnvironment, standardPackages } from '../../../src/drivers/python-packages.ts';
import { packageRoot } from '../../../src/lib/package-root.ts';
import { type Context, type Requirement, stdoutOf } from '../context.ts';

const GiB = 1_073_741_824;
const SAME_AS_SHARED = 'the same environment as that of the shape shared, which proves it';
const EXEMPT = {
  bare: 'has what the host has',
  'process, single': SAME_AS_SHARED,
  'process, without cgroups': SAME_AS_SHARED,
};

/** Each program of the standard image in use, as a condition of bash. */
const USES: Readonly<Record<string, string>> = {
  curl: 'curl -s file:///workspace/one.txt | grep -q forty',
  file: 'file one.txt | grep -q ASCII',
  gcc: 'gcc -o made one.c && ./made',
  git: 'git init -q . && git add one.txt && git -c user.name=a -c user.email=a@b commit -q -m one',
  jq: 'test "$(echo \'{"a": 42}\' | jq .a)" = 42',
  less: 'less one.txt | grep -q forty',
  make: 'printf "all:\\n\\t@echo forty-two\\n" > Makefile && make -j2 | grep -q forty',
  ps: 'ps -ef | grep -q bash',
  rg: 'rg -q forty one.txt',
  sqlite3: 'test "$(sqlite3 :memory: "select 42")" = 42',
  unzip: 'python3 -m zipfile -c two.zip one.txt && unzip -p two.zip one.txt | grep -q forty',
  zip: 'zip -q one.zip one.txt && python3 -m zipfile -t one.zip | grep -q Done',
};

/** The standard environment has what `images/python/standard.json` lists, and all of it works inside. */
export const environmentRequirements: readonly Requirement[] = [
  {
    id: 'environment:packages',
    tag: 'driver',
    title: 'each standard package can be imported and used',
    exempt: EXEMPT,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { memoryBytes: 2 * GiB } });
      const program = readFileSync(join(packageRoot(), 'test/conformance/programs/every-package.py'), 'utf8');
      const { stdout, stderr, outcome } = await session.run(program, { timeoutMs: 180_000 });
      expect(outcome).toEqual({ kind: 'ok' });
      expect(stdout.trim().split('\n').sort(), stderr).toEqual(standardPackages().sort());
    },
  },
  {
    id: 'environment:installed',
    tag: 'driver',
    title: 'each standard package is installed',
    exempt: EXEMPT,
    prove: async ({ session }) => {
      const names = standardPackages().sort();
      const code = `from importlib import metadata
for name in ${JSON.stringify(names)}: print(name if metadata.version(name) else "")`;
      expect((await stdoutOf(session, code)).split('\n')).toEqual(names);
    },
  },
  {
    id: 'environment:programs',
    tag: 'driver',
    title: 'each standard program works: of the image, or of the host where a jail shows its /usr',
    exempt: EXEMPT,
    prove: async ({ fresh, target }) => {
      const listed = Object.keys(standardEnvironment().programs);
      expect(Object.keys(USES).sort()).toEqual(listed.sort());
      const expected = showsHost(target) ? listed.filter((name) => existsSync(`/usr/bin/${name}`)) : listed;
      const session = await fresh();
      await session.files.write('one.txt', 'forty-two\n');
      await session.files.write('one.c', '#include <stdio.h>\nint main(void) { return puts("made") < 0; }\n');
      const script = expected.map((name) => `if ${USES[name]}; then echo "works: ${name}"; fi`).join('\n');
      const { stdout, stderr } = await session.run(script, { language: 'bash', timeoutMs: 60_000 });
      const working = [...stdout.matchAll(/^works: (\S+)$/gm)].map(([, name]) => name);
      expect(working, stderr).toEqual(expected);
    },
  },
  {
    id: 'environment:installers',
    tag: 'guest',
    title:
      'in a session that may not install anything pip fails without retries, as a command and as a magic, and a hint says what to do',
    exempt: { bare: 'has the network of the host' },
    prove: async ({ fresh }) => {
      const session = await fresh({ mayInstall: false });
      const command = await session.command('pip install no-such-package', { timeoutMs: 60_000 });
      expect(command.outcome).toEqual({ kind: 'exited', exitCode: 1 });
      expect(command.stderr).toMatch(/No matching distribution found/);
      expect(command.stderr).not.toMatch(/Retrying/);
      for (const code of ['%pip install no-such-package', '!pip install no-such-package']) {
        const { outcome, stdout } = await session.run(code, { timeoutMs: 60_000 });
        expect(outcome).toMatchObject({
          kind: 'raised',
          name: 'InstallError',
          hint: expect.stringMatching(/no network.*packages\.md/),
        });
        expect(stdout).not.toContain('restart the kernel');
      }
      expect((await session.run('!pip --version')).outcome).toEqual({ kind: 'ok' });
    },
  },
  {
    id: 'environment:fonts',
    tag: 'driver',
    title: 'charts have glyphs for Chinese, Japanese and Korean and for emoji, under the styles of seaborn too',
    exempt: { ...EXEMPT, 'process, shared': 'has the fonts of the host' },
    prove: async ({ fresh }) => {
      const session = await fresh();
      const draw = (style: string) => `
import io, warnings
from matplotlib import pyplot as plt
${style}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    plt.title("中文 日本語 한국어 \\N{ROCKET}")
    plt.savefig(io.BytesIO())
    plt.close("all")
print([str(one.message) for one in caught])`;
      for (const style of ['', 'plt.rcdefaults()', 'import seaborn; seaborn.set_theme()']) {
        expect(await stdoutOf(session, draw(style), 60_000), style).toBe('[]');
      }
    },
  },
];

function showsHost({ options }: Context['target']): boolean {
  return options.isolation === 'process';
}
