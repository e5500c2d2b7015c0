/** What to do about a jail that did not start, by what bubblewrap said. */
export function jailRemedy(message: string): string {
  if (/max_\*_namespaces|max_user_namespaces/.test(message)) {
    return 'Allow more user namespaces: sudo sysctl user.max_user_namespaces=15000. See docs/troubleshooting.md.';
  }
  const said = message.slice(message.indexOf('bwrap: '));
  if (message.includes('bwrap: ') && /namespace|Operation not permitted|uid map/i.test(said)) {
    return 'Allow unprivileged user namespaces: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu) or kernel.unprivileged_userns_clone=1 (older Debian). See docs/troubleshooting.md.';
  }
  return 'Run `hotcell doctor` to see which feature this host lacks.';
}
