import { HotcellError } from '../../errors/hotcell-error.ts';
import type { HttpApp } from '../environment.ts';

export interface StatusOptions {
  /** The reason why the server accepts no work, if any. */
  notReady(): string | undefined;
  exposition(): Promise<{ contentType: string; text: string }>;
  /** Whether `/metrics` is enabled. */
  readonly metrics: boolean;
}

/** Routes for monitoring: liveness, readiness, metrics. */
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
