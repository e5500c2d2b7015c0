import { describe, expect, it } from 'vitest';
import { atEnd } from './buffer.ts';
import { chosenIn, menuLines, moveInMenu, openMenu } from './menu.ts';

const mark = (text: string) => `[${text}]`;
const names = (count: number) => Array.from({ length: count }, (_, index) => `name${index}`);

describe('a menu of completions', () => {
  const menu = openMenu(atEnd('math.is'), { from: 5, matches: ['isinf', 'isnan', 'isqrt'] });

  it('changes nothing until one is chosen, and goes round', () => {
    expect(chosenIn(menu)).toEqual(atEnd('math.is'));
    expect(chosenIn(moveInMenu(menu, 1))).toEqual(atEnd('math.isinf'));
    expect(chosenIn(moveInMenu(menu, -1))).toEqual(atEnd('math.isqrt'));
    const last = moveInMenu(moveInMenu(moveInMenu(menu, 1), 1), 1);
    expect(chosenIn(moveInMenu(last, 1))).toEqual(atEnd('math.isinf'));
  });

  it('stands in columns that fit, with a mark', () => {
    expect(menuLines(moveInMenu(menu, 1), { columns: 80, rows: 5 }, mark)).toEqual(['[isinf]  isnan  isqrt']);
    expect(menuLines(menu, { columns: 10, rows: 5 }, mark)).toEqual(['isinf', 'isnan', 'isqrt']);
  });

  it('shows the rows around the chosen one where there are many', () => {
    let many = openMenu(atEnd(''), { from: 0, matches: names(50) });
    expect(menuLines(many, { columns: 10, rows: 3 }, mark)).toEqual(['name0', 'name1', 'name2', '… 50 in all']);
    many = moveInMenu(many, -1);
    expect(menuLines(many, { columns: 10, rows: 3 }, mark)).toEqual(['name47', 'name48', '[name49]', '… 50 in all']);
  });
});
