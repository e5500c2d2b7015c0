import { distance } from 'fastest-levenshtein';
import { HotcellError } from '../errors/hotcell-error.ts';
import { nearestName } from '../lib/nearest-name.ts';

/** The error for an argument that is not one of the known names: "there is no client claud; did you mean claude-code?" */
export function unknownName(what: string, name: string, known: readonly string[]): HotcellError {
  const begun = known.find((each) => each.startsWith(name));
  const nearest = begun ?? nearestName(name, known);
  const isNear = begun !== undefined || (nearest !== undefined && distance(nearest, name) <= nearest.length / 2);
  const hint = name !== '' && isNear ? `; did you mean ${nearest}?` : '';
  return new HotcellError('invalid_argument', `there is no ${what} ${name.slice(0, 100)}${hint}`, {
    remedy: `Use one of ${known.join(', ')}.`,
  });
}
