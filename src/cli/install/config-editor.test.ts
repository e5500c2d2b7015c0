import fc from 'fast-check';
import { parse as parseToml, stringify } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { KEEP_ALL } from './additions.ts';
import { withEntry, withMergedEntry, withoutEntry } from './config-editor.ts';

const PATH = ['mcpServers', 'hotcell'] as const;
const ENTRY = { command: '/usr/bin/node', args: ['/opt/hotcell/dist/cli.js', 'mcp'] };
const add = (text: string, format: 'json' | 'jsonc' | 'toml' = 'jsonc', entry: Record<string, unknown> = ENTRY) =>
  withEntry({ format, text, path: PATH, file: 'config' }, entry);
const take = (text: string, format: 'json' | 'jsonc' | 'toml' = 'jsonc') =>
  withoutEntry({ format, text, path: PATH, file: 'config' });

describe('an entry in JSON', () => {
  it('leaves every other byte alone: comments, trailing commas, indentation, line ends', () => {
    const text =
      '// mine\r\n{\r\n\t"mcpServers": {\r\n\t\t"other": { "command": "x" }, // keep\r\n\t},\r\n\t"z": 1,\r\n}\r\n';
    const after = add(text);
    expect(after).toContain('// keep');
    expect(after.startsWith('// mine\r\n{\r\n\t"mcpServers": {\r\n\t\t"other": { "command": "x" },')).toBe(true);
    expect(after.endsWith('\t},\r\n\t"z": 1,\r\n}\r\n')).toBe(true);
    expect(after).not.toMatch(/[^\r]\n/);
    expect(after).toContain('\t\t"hotcell": {\r\n\t\t\t"command"');
  });

  it('is not written twice', () => {
    const once = add('{\n    "a": [1,2]\n}\n');
    expect(add(once)).toBe(once);
  });

  it('keeps what the user added to it, and removes what it set itself', () => {
    const first = add('{}', 'json', { ...ENTRY, env: { HOTCELL_ISOLATION: 'docker' } });
    const edited = first
      .replace('"HOTCELL_ISOLATION"', '"MINE": "1", "HOTCELL_ISOLATION"')
      .replace('"args"', '"timeout": 5, "args"');
    const config = { format: 'json', text: edited, path: PATH, file: 'config' } as const;
    expect(JSON.parse(withMergedEntry(config, ENTRY, KEEP_ALL).text)).toEqual({
      mcpServers: { hotcell: { ...ENTRY, env: { MINE: '1' }, timeout: 5 } },
    });
  });

  it('keeps a byte order mark', () => {
    expect(add('\u{feff}{}\n').startsWith('\u{feff}{')).toBe(true);
  });

  it.each([
    ['a comment where the client allows none', '{ // no\n}'],
    ['half a document', '{"a": '],
    ['something behind the end', '{} x'],
    ['an array', '[]'],
    ['a name twice, the second of which counts', '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}'],
    ['a table of servers that is none', '{"mcpServers": []}'],
  ])('is refused in a file with %s', (_, text) => {
    expect(() => add(text, 'json')).toThrow(/^config: .*; the file was not changed$/);
  });

  it('leaves no trace when it is removed again, whatever else the file contains', () => {
    const servers = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.record({ command: fc.string() }), {
      minKeys: 1,
    });
    const documents = fc.record({ before: fc.jsonValue(), mcpServers: servers, after: fc.jsonValue() });
    fc.assert(
      fc.property(documents, fc.constantFrom(2, 4, '\t', undefined), (document, indent) => {
        const text = JSON.stringify(document, null, indent);
        const after = add(text, 'json');
        expect(JSON.parse(after)).toEqual({
          ...JSON.parse(text),
          mcpServers: { ...JSON.parse(text).mcpServers, hotcell: ENTRY },
        });
        expect(JSON.parse(take(after, 'json'))).toEqual(JSON.parse(text));
        if (indent !== undefined) expect(take(after, 'json')).toBe(text);
      }),
    );
  });
});

describe('an entry in TOML', () => {
  const text =
    '# mine\nmodel = "x" # yes\n\n[mcp_servers.other]\ncommand = "y"\n\n# about the last\n[last]\na = [\n  1, # one\n]\n';
  const path = ['mcp_servers', 'hotcell'] as const;
  const put = (from: string, entry: Record<string, unknown> = ENTRY) =>
    withEntry({ format: 'toml', text: from, path, file: 'config' }, entry);
  const cut = (from: string) => withoutEntry({ format: 'toml', text: from, path, file: 'config' });

  it('leaves every other byte alone, and no trace when it is removed', () => {
    const after = put(text);
    expect(after.startsWith(text)).toBe(true);
    expect(parseToml(after)).toMatchObject({ mcp_servers: { other: { command: 'y' }, hotcell: ENTRY } });
    expect(put(after)).toBe(after);
    expect(cut(after)).toBe(text);
  });

  it('is replaced in place, with its subtables and without the comment of its neighbour', () => {
    const first = put('', { ...ENTRY, env: { HOTCELL_PROFILE: 'a' } });
    const between = `${first}\n# of the next\n[next]\nb = 1\n`;
    expect(put(between)).toBe(`${put('')}\n# of the next\n[next]\nb = 1\n`);
  });

  it.each([
    ['inline', 'mcp_servers = { hotcell = { command = "x" } }\n'],
    ['by a dotted name', 'mcp_servers.hotcell.command = "x"\n'],
    ['inside a string only', 'a = """\n[mcp_servers.hotcell]\n"""\n[mcp_servers]\nhotcell = { command = "x" }\n'],
  ])('is refused if it is written %s', (_, odd) => {
    expect(() => put(odd)).toThrow(/cannot be changed safely; the file was not changed/);
    expect(() => cut(odd)).toThrow(/the file was not changed/);
  });

  it('is refused if the file is not TOML', () => {
    expect(() => put('a = \n')).toThrow(/^config: cannot be parsed: /);
  });

  it('changes nothing but itself, whatever else the file contains', () => {
    const name = fc.stringMatching(/^[a-z]{1,6}$/);
    const values = fc.oneof(fc.string(), fc.integer(), fc.array(fc.string()), fc.dictionary(name, fc.string()));
    fc.assert(
      fc.property(fc.dictionary(name, values), (document) => {
        const before = stringify(document);
        expect(parseToml(cut(put(before)))).toEqual(parseToml(before));
        expect(parseToml(put(before))).toEqual({ ...parseToml(before), mcp_servers: { hotcell: ENTRY } });
      }),
    );
  });
});
