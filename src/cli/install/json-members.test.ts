import { findNodeAtLocation, parse, parseTree } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { insertMember, removeMember } from './json-members.ts';

const insert = (text: string) => insertMember(text, parseTree(text)!, 'b', { c: 1 });
const remove = (text: string) => removeMember(text, findNodeAtLocation(parseTree(text)!, ['b'])!);

describe('a member of an object', () => {
  it.each([
    ['{}', '{\n  "b": {\n    "c": 1\n  }\n}'],
    ['{"a":1}', '{"a":1, "b": {"c":1}}'],
    ['{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 1\n\t}\n}\n'],
    ['{\n "a": 1, // why, not\n}', '{\n "a": 1, // why, not\n "b": {\n  "c": 1\n },\n}'],
    ['{\n  "a": 1 // why\n  // end\n}', '{\n  "a": 1, // why\n  "b": {\n    "c": 1\n  }\n  // end\n}'],
    ['{\n  "a": 1 /* x, */\n  , // odd\n}', '{\n  "a": 1 /* x, */\n  , // odd\n  "b": {\n    "c": 1\n  },\n}'],
    ['{\n  // nothing yet\n}', '{\n  // nothing yet\n  "b": {\n    "c": 1\n  }\n}'],
  ])('can be inserted into %j and removed again', (before, after) => {
    expect(insert(before)).toBe(after);
    expect(parse(after, [], { allowTrailingComma: true }).b).toEqual({ c: 1 });
    expect(remove(after)).toBe(before);
  });

  it('can be removed from the middle and from the beginning', () => {
    expect(remove('{ "a": 1, "b": 2, "c": 3 }')).toBe('{ "a": 1, "c": 3 }');
    expect(remove('{\n  "b": 2,\n  "c": 3\n}')).toBe('{\n  "c": 3\n}');
  });
});
