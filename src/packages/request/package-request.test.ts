import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { Manager } from '../../sessions/installation.ts';
import { checkRequest } from './package-request.ts';

const texts = (packages: string[], manager: Manager = 'pip') =>
  checkRequest({ packages, manager }).wanted.map(({ text }) => text);

describe('a request for packages of Python', () => {
  it.each([
    ['httpx', 'httpx'],
    ['  Flask_Babel ', 'flask-babel'],
    ['rich>=13,<15', 'rich<15,>=13'],
    ['pandas == 2.2.*', 'pandas==2.2.*'],
    ['uvicorn[standard, Watch_Files] ~= 0.30', 'uvicorn[standard,watch-files]~=0.30'],
    ['numpy (>=1.26)', 'numpy>=1.26'],
    ['torch==2.4.0+cpu', 'torch==2.4.0+cpu'],
    ['tomli; python_version < "3.11"', 'tomli ; python_version < "3.11"'],
    [
      "x; (sys_platform == 'linux' and python_version >= '3.9') or os_name != 'nt'",
      "x ; (sys_platform == 'linux' and python_version >= '3.9') or os_name != 'nt'",
    ],
    ['./dist/mine-1.0-py3-none-any.whl', './dist/mine-1.0-py3-none-any.whl'],
    ['mine-1.0-py3-none-any.whl', './mine-1.0-py3-none-any.whl'],
    ['./project/', './project'],
    ['.', './'],
    ['./project[dev]', './project[dev]'],
  ])('takes %s', (written, text) => {
    expect(texts([written])).toEqual([text]);
  });

  it.each([
    ...['-r /etc/passwd', '--index-url=https://evil.example/simple', '-e .', '--requirement', '-', '--', ' -rfile'],
    ...[
      'git+ssh://git@evil.example/x',
      'git+https://evil.example/x',
      'https://evil.example/x.whl',
      'file:///etc/passwd',
      'file:x',
    ],
    ...['x @ https://evil.example/x.whl', 'x@https://evil.example/x.whl', 'x @ file:///etc', 'x@git+ssh://y'],
    ...[
      '/etc/passwd',
      '../secret',
      './../secret',
      './a/../../b',
      '/workspace/x.whl',
      '.hidden',
      '..',
      './a//b',
      './/etc',
    ],
    ...[
      'httpx --index-url https://evil.example',
      'httpx --hash=sha256:00',
      'httpx -r x',
      'httpx\n--index-url x',
      'httpx\r-r x',
      'httpx\\',
    ],
    ...[
      'httpx # comment',
      'a b',
      'x;',
      'x; import os',
      'x; python_version < "3" -r y',
      'x; extra == "a"',
      'x>=$(id)',
      'x[`id`]',
      '$(id)',
      '`id`',
      '$HOME',
    ],
    ...[
      '',
      ' ',
      'x\0',
      'naïve',
      'x.',
      '-x',
      '_x',
      'x[',
      'x]',
      'x[a',
      'x==',
      '==1',
      'x'.repeat(501),
      './a b\n.whl',
      './-r x.whl',
    ],
  ])('refuses %j', (written) => {
    expect(() => texts([written])).toThrow(HotcellError);
  });

  it('names what is wrong, and what to write instead', () => {
    expect(() => texts(['httpx', '--index-url=https://evil.example'])).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: expect.stringContaining('options are not accepted'),
      }),
    );
  });

  it('is the same for the same packages, however they are written', () => {
    expect(texts(['Flask', 'flask', 'FLASK'])).toEqual(['flask']);
  });

  it('has at least one package, and not too many', () => {
    expect(() => texts([])).toThrow('no package is named');
    expect(() => texts(Array.from({ length: 201 }, (_, at) => `p${at}`))).toThrow('more than 200');
  });
});

describe('a request for packages of npm', () => {
  it.each([
    ['left-pad', 'left-pad'],
    ['left-pad@^1.3.0', 'left-pad@^1.3.0'],
    ['@team/Thing@latest', '@team/thing@latest'],
    ['react@>=18 <20 || 17.x', 'react@>=18 <20 || 17.x'],
  ])('takes %s', (written, text) => {
    expect(texts([written], 'npm')).toEqual([text]);
  });

  it.each([
    ...[
      '--registry=https://evil.example',
      '-g',
      'x@npm:y',
      'x@https://evil.example/x.tgz',
      'x@file:../y',
      'x@git+ssh://y',
    ],
    ...[
      'github:user/repo',
      'user/repo',
      'git@evil.example:x',
      '@scope',
      '@scope/',
      '@/x',
      '@scope/../x',
      '../x',
      '/etc',
    ],
    ...['./packed-1.0.0.tgz', 'packed.tgz', './folder', '.'],
    ...['x@-y', 'x y', 'x\n--registry=y', 'x@$(id)', 'x@1;id', '.x', './x[dev]', 'link:../x', 'workspace:*', 'http:x'],
  ])('refuses %j', (written) => {
    expect(() => texts([written], 'npm')).toThrow(HotcellError);
  });
});

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        '-',
        '--',
        ' ',
        '\n',
        'r',
        '=',
        '/',
        '..',
        '.',
        ':',
        '@',
        '#',
        ';',
        '[',
        ']',
        'git+',
        '://',
        'x',
        '1',
        '"',
        "'",
        '\\',
        '\0',
        '$(',
        '`',
        '.whl',
        '>=',
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
);

test.each(['pip', 'npm'] as const)(
  'whatever %s is asked for, what passes is one line with one package and no option',
  (manager) => {
    fc.assert(
      fc.property(hostile, (written) => {
        let text: string;
        try {
          [text] = texts([written], manager) as [string];
        } catch (error) {
          expect(error).toBeInstanceOf(HotcellError);
          return;
        }
        expect(text).toMatch(/^[\x20-\x7e]+$/);
        expect(text).toMatch(manager === 'pip' ? /^(?:[a-z0-9]|\.\/)/ : /^[a-z0-9@]/);
        expect(text).not.toMatch(/:\/\/|#|\\|(?:^|\s)--?[a-z]|\.\.\/|\/\.\./i);
        // Checking is idempotent: nothing else is left to be read into the canonical form.
        expect(texts([text], manager)).toEqual([text]);
      }),
      { numRuns: 3000 },
    );
  },
);
