import type { ProfileName } from '../schema.ts';
import { codeSandboxSettings } from './code-sandbox.ts';
import type { ProfileSettings } from './define-settings.ts';

/** The settings of each profile. Hotcell's own tools have none besides the options of the server. */
export const PROFILE_SETTINGS: Readonly<Partial<Record<ProfileName, ProfileSettings>>> = {
  'code-sandbox': codeSandboxSettings as unknown as ProfileSettings,
};
