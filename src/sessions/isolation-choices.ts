import type { OfferedDrivers } from '../sandbox/declaration.ts';
import type { DriverName, IsolationRequest } from '../sandbox/isolation.ts';
import { type ChoiceOptions, chooseIsolation, type IsolationChoice } from './choose-isolation.ts';

/** Which driver serves which request on this server. Trials are made once; what failed is tried again the next time. */
export type IsolationChoices = (
  request: IsolationRequest,
  options?: Pick<ChoiceOptions, 'attempt'>,
) => Promise<IsolationChoice>;

export function createIsolationChoices(drivers: OfferedDrivers, minIsolation: DriverName): IsolationChoices {
  const choices = new Map<IsolationRequest, Promise<IsolationChoice>>();
  return (request, options) => {
    const known = choices.get(request);
    if (known !== undefined) return known;
    const choice = chooseIsolation(drivers, request, minIsolation, options);
    choices.set(request, choice);
    choice.catch(() => choices.delete(request));
    return choice;
  };
}
