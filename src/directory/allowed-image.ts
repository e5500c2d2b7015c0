import type { Config } from '../config/schema.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { fullImageName, matchesImagePattern } from '../sandbox/image-reference.ts';
import type { OpenRequest } from './open-request.ts';
import { LOCAL_OWNER } from './owner.ts';

export interface ImageRules {
  readonly config: Pick<Config, 'image' | 'allowedImages'>;
  readonly standardImage: () => string;
}

/**
 * The image to open for an owner. Throws `image_denied` if the owner may not use it. The local owner may use every
 * image of the engine.
 *
 * SECURITY: an engine holds private images, with code and credentials in them, and a caller can read every file of a
 * session. The check runs before the engine is asked, so that a refusal does not reveal which images exist. The engine
 * then gets the full name that was checked: it resolves a short name in several ways.
 */
export function allowedImage(
  owner: string,
  { image, isOwnImage }: Pick<OpenRequest, 'image' | 'isOwnImage'>,
  { config, standardImage }: ImageRules,
): string | undefined {
  if (image === undefined || isOwnImage === true || owner === LOCAL_OWNER || config.allowedImages.includes('*')) {
    return image;
  }
  const allowed = [standardImage(), ...(config.image === undefined ? [] : [config.image]), ...config.allowedImages];
  const full = fullImageName(image);
  // An image id names no repository, so it is allowed only if the id itself is listed.
  if (full === undefined ? allowed.includes(image) : allowed.some((pattern) => matchesImagePattern(full, pattern))) {
    return full ?? image;
  }
  throw new HotcellError('image_denied', `image: ${image} is not an allowed image on this server`, {
    remedy:
      'Omit image to use the image of the server. The operator of the server can allow others with --allowed-image.',
  });
}
