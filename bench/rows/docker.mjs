import { measureContainer } from './container.mjs';

export function measure(context) {
  return measureContainer(context, { isolation: 'docker', runtime: 'runc', callMs: 2 });
}
