import { measureContainer } from './container.mjs';
import { measureInARow } from './containers-in-a-row.mjs';

export async function measure(context) {
  const container = { isolation: 'docker', runtime: 'runc' };
  return [
    ...(await measureContainer(context, { ...container, callMs: 2 })),
    ...(await measureInARow(context, container)),
  ];
}
