/** The variables of the user that point pip, uv, npm and apt at mirrors, proxies and certificates. */
export function installerVariables(): NodeJS.ProcessEnv {
  return process.env;
}
