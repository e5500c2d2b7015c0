const ROUTES = ['/mcp', '/files', '/run', '/metrics', '/healthz', '/readyz'] as const;

/**
 * The route of a path. SECURITY: from a fixed list, because clients choose the path, and the audit log aggregates
 * refusals by route.
 */
export function routeOf(path: string): (typeof ROUTES)[number] | 'other' {
  return ROUTES.find((route) => path === route || path.startsWith(`${route}/`)) ?? 'other';
}
