export const PROFILE_HELP =
  'whose tools to offer: hotcell or code-sandbox, several with commas (default: hotcell, its own)';
