import { describe, expect, test } from 'vitest';
import { threadMs } from './support/thread-time.ts';

/** Plain JavaScript, which has no types. */
const part = (name: string) => import(`../guest/node_kernel/${name}.js`);
const { createDecoder, encode } = await part('frames');
const { rewriteModuleSyntax } = await part('module-syntax');
const { proxyFor } = await part('proxy');
const { createSources } = await part('sources');
const { prepare } = await part('syntax');
const { unsupportedHint } = await part('unsupported');

describe('module syntax in a session', () => {
  const rewritten: [what: string, from: string, to: string][] = [
    [
      'a default import',
      "import a from 'x'",
      'const { default: a } = await __hotcellImport(\'x\', undefined, ["default"]);',
    ],
    ['a namespace', "import * as n from 'x';", "const n = await __hotcellImport('x');"],
    ['an effect', "import 'x';", "await __hotcellImport('x');"],
    [
      'names over several lines',
      "import a, {\n  b as c,\n} from 'x';\nc",
      'const { default: a, b: c } = await __hotcellImport(\'x\', undefined, ["default","b"]);\n\n\nc',
    ],
    [
      'a default beside a namespace',
      "import a, * as n from 'x'",
      'const n = await __hotcellImport(\'x\', undefined, ["default"]), { default: a } = n;',
    ],
    [
      'attributes',
      "import j from './j.json' with { type: 'json' };",
      "const { default: j } = await __hotcellImport('./j.json', { with: {type:'json'} }, [\"default\"]);",
    ],
    ['a call', "const m = import('x')", "const m = __hotcellImport('x')"],
    ['meta', 'import.meta.url', '__hotcellMeta.url'],
    ['an exported declaration', 'export const a = 1', '       const a = 1'],
    ['exported names', 'export { a, b as c };', '                    ;'],
    ['an exported value', 'export default 5', 'exports.default = 5'],
    ['an exported function', 'export default function f() {}', '               function f() {}'],
    ['what is passed on', "export * from 'x'", "await __hotcellImport('x');"],
  ];
  test.each(rewritten)('%s', (_what, from, to) => {
    expect(rewriteModuleSyntax(from, false)).toBe(to);
  });

  test.each([
    '"import x from \'y\'"',
    '`import $' + '{1} from`',
    '// import x',
    '/import x/',
    'a.import()',
    '({ import: 1, export: 2 })',
    'a.import.meta',
  ])('%s is none', (code) => {
    expect(rewriteModuleSyntax(code, false)).toBe(code);
  });

  test('what does not parse is left to V8', () => {
    expect(rewriteModuleSyntax("import x from 'y'; let (;", false)).toBe("import x from 'y'; let (;");
  });
});

describe('TypeScript', () => {
  test('keeps its lines, and imports that the next piece of code may need', () => {
    const source = "import { a } from 'x';\ninterface I {\n  n: number;\n}\nconst b: I = { n: 1 } as I;";
    const { code } = prepare(source, true);
    expect(code.split('\n')).toHaveLength(5);
    expect(code).toContain("const { a } = await __hotcellImport('x');");
    expect(code.split('\n')[4]).toMatch(/^const b = \{ n: 1 \}/);
  });

  test('that has no meaning is an outcome with its place', () => {
    expect(prepare('let x: = 1', true).failure).toMatchObject({ name: 'SyntaxError', place: { line: 0 } });
  });

  test('with a namespace is never run without it', () => {
    const { code, failure } = prepare('namespace N { export const x = 1 }\nN.x', true);
    expect(failure?.message.includes('namespaces') || code.includes('N')).toBe(true);
    expect(prepare('declare namespace N { const x: number }\n1', true).failure).toBeUndefined();
  });
});

describe('tracebacks', () => {
  const raised = (text: string, hasNetwork?: () => boolean) => {
    const sources = createSources(hasNetwork);
    const url = sources.add('<execution 1>', 'one\ntwo\nthree', 'one\ntwo\nthree');
    return sources.raised({ name: 'Error', message: 'm', text: text.replaceAll('URL', url), place: undefined });
  };

  test('show the line, and leave out frames of Node and of ours', () => {
    const { traceback, frames } = raised(
      'Error: m\n    at f (URL:2:3)\n    at emit (node:events:1:1)\n    at run (hotcell:main:1:1) {\n  code: 1\n}',
    );
    expect(traceback).toEqual([
      '<execution 1>:2',
      'two',
      '  ^',
      '',
      'Error: m',
      '    at f (<execution 1>:2:3) {',
      '  code: 1',
      '}',
    ]);
    expect(frames).toEqual([{ file: '<execution 1>', line: 2, function: 'f', own: true }]);
  });

  test('are bounded in lines and in bytes', () => {
    expect(raised('x\n'.repeat(100_000)).traceback.length).toBeLessThan(600);
    const wide = raised(`${'é'.repeat(100_000)}\n`.repeat(100)).traceback;
    expect(Buffer.byteLength(JSON.stringify(wide))).toBeLessThan(40_000);
  });

  test('name a package that is not there', () => {
    expect(raised("Error: Cannot find package 'left-pad' imported from x").hint).toContain('left-pad');
    expect(raised("Error: Cannot find module './left.js'").hint).toBeUndefined();
  });

  test('say that there is no network, while there is none', () => {
    const text = 'TypeError: fetch failed {\n  [cause]: Error: getaddrinfo ENOTFOUND example.com {\n  }\n}';
    expect(raised(text).hint).toContain('This session has no network.');
    expect(raised(text, () => true).hint).toBeUndefined();
  });
});

test('frames survive being cut anywhere', () => {
  const bytes = Buffer.concat([encode({ type: 'a', text: 'é\ud800' }, Buffer.from('body')), encode({ type: 'b' })]);
  for (let at = 1; at < bytes.length; at += 1) {
    const decode = createDecoder();
    const frames = [...decode(bytes.subarray(0, at)), ...decode(bytes.subarray(at))];
    expect(frames.map(({ head, body }) => [head.type, body.toString()])).toEqual([
      ['a', 'body'],
      ['b', ''],
    ]);
  }
  expect(() => [...createDecoder()(Buffer.from('no frame, but long enough for one'))]).toThrow();
});

describe('syntax that is not supported', () => {
  test.each([
    ['function dec(t: any) {}\n@dec class A {}', 'Decorators'],
    ['@dec({ a: 1 })\nexport class A {}', 'Decorators'],
    ['class A {\n  @logged\n  run() {}\n}', 'Decorators'],
    ['class A { accessor x = 1 }', 'accessor'],
    ['const a = <div>hi</div>;', 'JSX'],
    ['function App() {\n  return (\n    <ul className="a">\n      <li/>\n    </ul>\n  )\n}', 'JSX'],
  ])('%j has a hint', (source, name) => {
    expect(unsupportedHint(source)).toContain(name);
  });

  test.each(['const a = 1 < 2 > (3', "const mail = 'a@b.c'; if (", 'f<T>(x: T', 'a = "@dec class"; ('])(
    '%j has none',
    (source) => {
      expect(unsupportedHint(source)).toBeUndefined();
    },
  );

  test('a long source takes no longer than it is long', () => {
    const began = threadMs();
    for (const text of ['@a(', '<a ', 'accessor ', 'static ', '\n']) unsupportedHint(text.repeat(200_000));
    expect(threadMs() - began).toBeLessThan(2_000);
  });
});

describe('the proxy of Node', () => {
  const variables = {
    HTTPS_PROXY: 'http://127.0.0.1:4000',
    http_proxy: 'localhost:4001',
    NO_PROXY: 'a.b, .c.d *.e:8080',
  };
  const proxies: [host: string, port: number, isSecure: boolean, proxy: string | undefined][] = [
    ['example.com', 443, true, '127.0.0.1:4000'],
    ['example.com', 80, false, 'localhost:4001'],
    ['localhost', 443, true, undefined],
    ['127.0.0.1', 80, false, undefined],
    ['::1', 443, true, undefined],
    ['a.b', 443, true, undefined],
    ['A.B', 443, true, undefined],
    ['x.a.b', 443, true, '127.0.0.1:4000'],
    ['x.c.d', 443, true, undefined],
    ['c.d', 443, true, '127.0.0.1:4000'],
    ['x.e', 8080, true, undefined],
    ['x.e', 443, true, '127.0.0.1:4000'],
  ];

  test.each(proxies)('for %s, port %i, secure: %s is %s', (host, port, isSecure, expected) => {
    const proxy = proxyFor({ host, port }, isSecure, variables);
    expect(proxy && `${proxy.hostname}:${proxy.port}`).toBe(expected);
  });

  test.each([
    ['nothing is set', {}],
    ['it is of another kind', { HTTPS_PROXY: 'socks5h://127.0.0.1:1' }],
    ['it is no address', { HTTPS_PROXY: 'http://[' }],
    ['everything is excepted', { HTTPS_PROXY: 'http://127.0.0.1:1', no_proxy: '*' }],
  ])('is none where %s', (_what, set) => {
    expect(proxyFor({ host: 'example.com', port: 443 }, true, set)).toBeUndefined();
  });
});
