import { describe, expect, test } from 'vitest';
import { createRoster, type Member } from './roster.ts';

const member = (owner: string, id: string, name?: string): Member => ({ owner: { id: owner }, id, name });

describe('the roster', () => {
  test('finds a session by its id and by its name, for its owner alone', () => {
    const roster = createRoster<Member>();
    const mine = member('ada', 's-1', 'analysis');
    roster.add(mine);
    expect([roster.find('ada', 's-1'), roster.find('ada', 'analysis')]).toEqual([mine, mine]);
    expect([roster.find('bob', 's-1'), roster.find('bob', 'analysis')]).toEqual([undefined, undefined]);
  });

  test('lets two owners use the same id and name', () => {
    const roster = createRoster<Member>();
    const hers = member('ada', 'work', 'w');
    const his = member('bob', 'work', 'w');
    for (const one of [hers, his]) {
      roster.requireFree(one);
      roster.add(one);
    }
    roster.retire(hers, 'was closed');
    roster.remove(hers);
    expect(roster.find('bob', 'work')).toBe(his);
    expect([roster.closedReason('ada', 'work'), roster.closedReason('bob', 'work')]).toEqual(['was closed', undefined]);
  });

  test.each([
    ['s-1', undefined],
    ['analysis', undefined],
    ['other', 's-1'],
    ['other', 'analysis'],
  ])('refuses the id %s and the name %s if one of them is taken', (id, name) => {
    const roster = createRoster<Member>();
    roster.add(member('ada', 's-1', 'analysis'));
    expect(() => roster.requireFree(member('ada', id, name))).toThrow(/already/);
    expect(() => roster.requireFree(member('bob', id, name))).not.toThrow();
  });

  test.each([
    ['a","b', 'c', 'a', 'b","c'],
    ['a', 'b', 'a\0b', ''],
    ['ada', '__proto__', 'bob', '__proto__'],
  ])('never takes owner %j with id %j for owner %j with id %j', (owner, id, otherOwner, otherId) => {
    const roster = createRoster<Member>();
    roster.add(member(owner, id));
    expect(roster.find(otherOwner, otherId)).toBeUndefined();
  });

  test('counts a retired session until it is removed, and frees its id at once', () => {
    const roster = createRoster<Member>();
    const old = member('ada', 'work');
    const young = member('ada', 'work');
    roster.add(old);
    roster.retire(old, 'was closed');
    expect([roster.find('ada', 'work'), roster.all().length]).toEqual([undefined, 1]);
    roster.add(young);
    roster.remove(old);
    expect([roster.find('ada', 'work'), roster.closedReason('ada', 'work')]).toEqual([young, undefined]);
  });

  test('remembers a bounded number of closed sessions', () => {
    const roster = createRoster<Member>();
    for (let n = 0; n < 3000; n += 1) {
      const one = member('ada', `s${n}`);
      roster.add(one);
      roster.retire(one, 'was closed');
      roster.remove(one);
    }
    expect([roster.closedReason('ada', 's0'), roster.closedReason('ada', 's2999')]).toEqual([undefined, 'was closed']);
  });

  test('forgets nothing of an owner because of the many sessions of another', () => {
    const roster = createRoster<Member>();
    const hers = member('ada', 's-1', 'work');
    roster.add(hers);
    roster.retire(hers, 'was closed');
    for (let index = 0; index < 3000; index += 1) roster.retire(member('mallory', `s${index}`), 'was closed');
    expect([roster.closedReason('ada', 's-1'), roster.closedReason('ada', 'work')]).toEqual([
      'was closed',
      'was closed',
    ]);
  });
});
