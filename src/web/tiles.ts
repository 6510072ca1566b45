// Tiles reveal where a person was: only callers who may see the map get them.
import { errorText } from '../model/mobility-error.ts';
import type { BaseMap } from './pages/day-map.ts';
import { faultPage, type WebAnswer, type WebCall } from './web.ts';

/** Returns the base map for pages below `prefix`, which must have a route for tiles. */
export const baseMapOf = ({ tiles }: WebCall, prefix: string): BaseMap | null =>
  tiles && { ...tiles, href: (z, x, y) => `${prefix}/tiles/${z}/${x}/${y}` };

export async function sendTile({ tiles, params, t, cookies, log }: WebCall): Promise<WebAnswer> {
  const [z, x, y] = [params.z, params.x, params.y].map((text = '') => (/^\d{1,9}$/.test(text) ? Number(text) : NaN));
  const found = tiles?.tile(z!, x!, y!).catch((error: unknown) => {
    log.write('WARNING', `Base map is damaged: ${errorText(error)}`);
    return null;
  });
  const body = (await found) ?? null;
  if (tiles === null || body === null) return faultPage(404, { t, cookies });
  return { status: 200, body, headers: { 'Content-Type': tiles.type, 'Cache-Control': 'private, max-age=604800' } };
}
