export const PROFILE_HELP = 'tools to offer: hotcell or code-sandbox; several separated by commas (default: hotcell)';
