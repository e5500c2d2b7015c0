import { expect, test } from 'vitest';
import { buildRequirements } from './local/build-requirements.ts';
import { parsePythonLock } from './python-lock.ts';
import { parsePlainToml, parseStrangersToml } from './strangers-toml.ts';

const LOCK = `lock-version = "1.0"\ncreated-by = "uv"\n`;
/** Generous, for a busy machine: the shapes took the parser seconds. */
const AT_MOST_MS = 500;

const sequence = (chars: number, part: (at: number) => string) =>
  Array.from({ length: chars / 8 }, (_, at) => part(at)).join('');

/** Shapes for which the parser needs most time, of a given size. What precedes a key is `before`. */
const shapes = (chars: number, before = ''): Record<string, string> => ({
  'one key with many dots': `${before}a${'.a'.repeat(chars / 2)} = 1\n`,
  'many keys': `${before}a = 1\n${sequence(chars, (at) => `k${at} = 1\n`)}`,
  'many keys in one table': `${before}a = {${sequence(chars, (at) => `k${at} = 1,`)}}\n`,
  'many numbers as keys': `${before}a = {${sequence(chars, (at) => `${at}=1,`)}}\n`,
  'many tables': `${before}a = 1\n${sequence(chars, (at) => `[t${at}]\n`)}`,
  'many empty tables in a list': `${before}a = [${'{},'.repeat(chars / 3)}]\n`,
  'many escapes': `${before}a = "${'\\\\'.repeat(chars / 2)}"\n`,
});

/** Beginnings by which a scanner that knows only strings in double quotes takes what follows for a string, or for none. */
const DISGUISES = {
  nothing: '',
  'a key in single quotes': `'"'.`,
  'a string in single quotes': `q = '"'\n`,
  'a table with a key in single quotes': `x = {'"'=1}\n`,
  'a comment': '#"\n',
  'a string of several lines': 'q = """\n"\n"""\n',
  'a string of several lines, on one line': 'q = """"x"""\n',
  'a string of several lines in single quotes': `q = '''\n"\n'''\n`,
  'a string that ends with a backslash in single quotes': `q = '\\'\n`,
  'an escaped quote': 'q = "\\""\n',
};

const disguised = Object.entries(DISGUISES).flatMap(([disguise, before]) =>
  Object.entries(shapes(3_000_000, before)).map(([shape, text]) => ({ shape, disguise, text })),
);

function timed(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

test.each(disguised)('neither a project nor a lock of 3 MB is parsed: $shape, behind $disguise', ({ text }) => {
  const took = timed(() => {
    expect(parsePythonLock(`${LOCK}${text}`)).toBeUndefined();
    expect(() => buildRequirements(text)).toThrow('pyproject.toml');
  });
  expect(took).toBeLessThan(AT_MOST_MS);
});

test.each([
  { kind: 'a table', line: `x = {'"'=1,${sequence(3_000_000, (at) => `${at}=1,`)}}` },
  { kind: 'a list', line: `x = ['"',${sequence(3_000_000, (at) => `[${at}],`)}]` },
])('$kind on the line of a quote in single quotes is not parsed', ({ line }) => {
  expect(timed(() => expect(parsePythonLock(`${LOCK}${line}\n`)).toBeUndefined())).toBeLessThan(AT_MOST_MS);
});

test.each([
  `a = 'x'`,
  `'a' = 1`,
  '# comment',
  'a.b = 1',
  '[a.b]',
  'a = 1.5',
  'a = """x"""',
  'a = "\\n"',
  'a = "x\ny"',
  'a = "x',
])('the plain form has only bare keys without dots and strings without escapes: %j', (line) => {
  const limits = { mostChars: 100, mostOutside: 100 };
  expect(parsePlainToml('a = "x"\nb = ""\n', limits)).toEqual({ a: 'x', b: '' });
  expect(parsePlainToml(`${line}\n`, limits)).toBeUndefined();
});

test('characters of the plain form count outside of strings', () => {
  const line = `name = "${'x'.repeat(40)}"\n`;
  const limits = { mostChars: 100, mostOutside: 10 };
  expect(parsePlainToml(line, limits)).toEqual({ name: 'x'.repeat(40) });
  expect(parsePlainToml('a = 1\nb = 2\nc = 3\n', limits)).toBeUndefined();
  expect(parsePlainToml(line.repeat(3), { mostChars: 100, mostOutside: 100 })).toBeUndefined();
  expect(parsePlainToml('a = ', limits)).toBeUndefined();
});

test('a project may use all of TOML, within its size', () => {
  const text = `# build\n[build-system]\nrequires = ['hatchling', """\\\n  wheel"""]\ntool.x = 1.5\n`;
  expect(buildRequirements(text)).toEqual(['hatchling', 'wheel']);
  expect(parseStrangersToml('a = ', 100)).toBeUndefined();
  expect(parseStrangersToml('a = 1', 4)).toBeUndefined();
});

test('a lock is read as uv writes it', () => {
  const lock = parsePythonLock(`lock-version = "1.0"
created-by = "uv"
requires-python = ">=3.11.7"

[[packages]]
name = "exceptiongroup"
version = "1.3.1"
marker = "python_full_version < '3.11' and sys_platform == 'linux'"
index = "https://index.test/simple"
sdist = { url = "https://files.test/a/exceptiongroup-1.3.1.tar.gz#x", upload-time = 2025-11-21T23:01:54Z, size = 30371, hashes = { sha256 = "8b41" } }
wheels = [
    { url = "https://files.test/b/exceptiongroup-1.3.1-py3-none-any.whl", upload-time = 2025-11-21T23:01:53.123456Z, hashes = { sha256 = "a7a3" } },
]

[[packages]]
name = "mine"
archive = { path = "local/0/mine-1.0-py3-none-any.whl", hashes = {} }
`);
  expect(lock?.packages).toMatchObject([
    { name: 'exceptiongroup', sdist: { size: 30371 }, wheels: [{ hashes: { sha256: 'a7a3' } }] },
    { name: 'mine', archive: { path: 'local/0/mine-1.0-py3-none-any.whl' } },
  ]);
});

test('a lock of thousands of files is read', () => {
  const wheel = `{ url = "https://files.test/${'c'.repeat(150)}.whl", size = 12345, hashes = { sha256 = "${'d'.repeat(64)}" } }`;
  const one = (at: number) =>
    `[[packages]]\nname = "p${at}"\nversion = "1.0"\nwheels = [${Array(10).fill(wheel).join(', ')}]\n`;
  const lock = parsePythonLock(`${LOCK}${Array.from({ length: 400 }, (_, at) => one(at)).join('')}`);
  expect(lock?.packages).toHaveLength(400);
});
