import { measureContainer } from './container.mjs';
import { measureInARow } from './containers-in-a-row.mjs';

export async function measure(context) {
  const container = { isolation: 'gvisor', runtime: 'runsc' };
  return [
    ...(await measureContainer(context, { ...container, callMs: 10 })),
    ...(await measureInARow(context, container)),
  ];
}
