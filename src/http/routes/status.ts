import { HotcellError } from '../../errors/hotcell-error.ts';
import type { HttpApp } from '../environment.ts';

export interface StatusOptions {
  /** What stands in the way of work, if anything does. */
  notReady(): string | undefined;
  exposition(): Promise<{ contentType: string; text: string }>;
  /** Whether `/metrics` is there at all. */
  readonly metrics: boolean;
}

/** For whoever watches over the server: does it live, does it take work, what did it do. */
export function addStatusRoutes(app: HttpApp, options: StatusOptions): void {
  app.get('/healthz', (context) => context.json({ status: 'ok' }));

  app.get('/readyz', (context) => {
    const reason = options.notReady();
    return reason === undefined
      ? context.json({ status: 'ready' })
      : context.json({ status: 'not ready', reason }, 503);
  });

  app.get('/metrics', async () => {
    if (!options.metrics) throw new HotcellError('not_found', 'metrics are disabled');
    const { contentType, text } = await options.exposition();
    return new Response(text, { headers: { 'content-type': contentType } });
  });
}
