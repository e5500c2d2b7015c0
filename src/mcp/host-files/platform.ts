import { type PlatformPath, posix, win32 } from 'node:path';

/** Differences between the operating systems that files are copied from. */
export interface HostPlatform {
  readonly paths: PlatformPath;
  /**
   * SECURITY: almost every program keeps keys, tokens and histories in such files and folders of the home folder, more
   * than a list could name.
   */
  isPrivate(name: string): boolean;
}

export function hostPlatform(platform: NodeJS.Platform = process.platform): HostPlatform {
  const own = OWN[platform];
  return {
    paths: platform === 'win32' ? win32 : posix,
    isPrivate: (name) => name.startsWith('.') || own?.test(name) === true,
  };
}

/** Private names in addition to those that begin with a dot. */
const OWN: Partial<Record<NodeJS.Platform, RegExp>> = {
  darwin: /^library$/i,
  win32: /^(appdata|application data|local settings|cookies|ntuser.*)$/i,
};
