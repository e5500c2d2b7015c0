import process from 'node:process';
import { useProxy } from './proxy.js';

const { env } = process;
const { keys } = Object;

/** Variables of the network, which was opened or changed while this kernel lived; null removes one. */
export function changeVariables(changes) {
  const names = keys(changes);
  for (let index = 0; index < names.length; index += 1) {
    if (changes[names[index]] === null) delete env[names[index]];
    else env[names[index]] = changes[names[index]];
  }
  if (env.NODE_USE_ENV_PROXY === '1') useProxy();
}
