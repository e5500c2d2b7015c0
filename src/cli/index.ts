import { hideToken } from './hide-token.ts';
import { runCli } from './program.ts';

hideToken();
await runCli(process.argv);
