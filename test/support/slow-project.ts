/** Files of a workspace: a project whose build takes longer than any test. Installed as `./slow`. */
export const SLOW_PROJECT: Readonly<Record<string, string>> = {
  'slow/pyproject.toml':
    '[build-system]\nrequires = []\nbuild-backend = "build"\nbackend-path = ["."]\n[project]\nname = "hc-slow"\nversion = "1.0"\n',
  'slow/build.py': 'import time\ndef build_wheel(*_, **__):\n    time.sleep(600)\n',
};
