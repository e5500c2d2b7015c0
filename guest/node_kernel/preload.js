/**
 * Required by each Node of a sandbox with a network (`NODE_OPTIONS`). Newer ones use the proxy of their environment by themselves.
 */
import process from 'node:process';
import { useProxy } from './proxy.js';

const [major, minor] = process.versions.node.split('.').map(Number);
const usesItself = (major === 22 && minor >= 21) || (major === 24 && minor >= 5) || major >= 25;
if (process.env.NODE_USE_ENV_PROXY === '1' && !usesItself) useProxy();
