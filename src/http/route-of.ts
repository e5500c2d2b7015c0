const ROUTES = ['/mcp', '/files', '/run', '/metrics', '/healthz', '/readyz'] as const;

/** The route that a path belongs to. SECURITY: from a fixed list, because strangers choose the path, and the audit log counts refusals by route. */
export function routeOf(path: string): (typeof ROUTES)[number] | 'other' {
  return ROUTES.find((route) => path === route || path.startsWith(`${route}/`)) ?? 'other';
}
