/** Whether a representation of this type is UTF-8 text: `text/html`, `image/svg+xml`, `application/vnd.plotly.v1+json`. */
export function isTextType(mediaType: string): boolean {
  return /^text\/|[/+.](json|xml|javascript)$/.test(mediaType);
}
