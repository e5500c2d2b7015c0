import { measureContainer } from './container.mjs';

export function measure(context) {
  return measureContainer(context, { isolation: 'gvisor', runtime: 'runsc', callMs: 10 });
}
