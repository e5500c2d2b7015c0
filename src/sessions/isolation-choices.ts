import type { OfferedDrivers } from '../sandbox/declaration.ts';
import type { DriverName, IsolationRequest } from '../sandbox/isolation.ts';
import { type ChoiceOptions, chooseIsolation, type IsolationChoice } from './choose-isolation.ts';

/** Chooses the driver for each request on this server. Successful trials are cached; failed ones are repeated. */
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
