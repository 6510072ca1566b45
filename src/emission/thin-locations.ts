import type { Position, Section } from '../model/trip.ts';

export interface Vertex {
  section: Section;
  index: number; // index of the vertex in its section
  ts: number;
  position: Position;
}

/** The limit of e-mission, whose app does not have the memory for more locations. */
const mostLocations = 100;

/** Returns the vertices of all sections. A vertex that two sections share appears once. */
export function verticesOf(sections: readonly Section[]): Vertex[] {
  const vertices: Vertex[] = [];
  for (const section of sections) {
    for (const [index, ts] of section.times.entries()) {
      const vertex = { section, index, ts, position: section.coordinates[index]! };
      if (!isSame(vertices.at(-1), vertex)) vertices.push(vertex);
    }
  }
  return vertices;
}

const isSame = (a: Vertex | undefined, b: Vertex): boolean =>
  a !== undefined && a.ts === b.ts && a.position[0] === b.position[0] && a.position[1] === b.position[1];

/**
 * Keeps the ends of each section, and evenly spaced vertices between them. All sections keep about
 * the same share of their inner vertices. Returns at most `most` vertices, but always all ends.
 */
export function thinned(sections: readonly Section[], most = mostLocations): Vertex[] {
  const total = sections.reduce((sum, { times }) => sum + times.length, 0);
  if (total <= most) return verticesOf(sections);
  const inner = sections.map(({ times }) => Math.max(0, times.length - 2));
  const innerTotal = inner.reduce((sum, count) => sum + count, 0);
  const room = Math.max(0, most - sections.reduce((sum, { times }) => sum + Math.min(2, times.length), 0));
  const keep = new Map(
    sections.map((section, i) => [section, Math.floor((room * inner[i]!) / Math.max(1, innerTotal))]),
  );
  return verticesOf(sections).filter(({ section, index }) => {
    const last = section.times.length - 1;
    if (index === 0 || index === last) return true;
    const count = keep.get(section)!;
    const part = (at: number): number => Math.floor(((at - 1) * count) / (last - 1));
    return count > 0 && (index === 1 || part(index) !== part(index - 1));
  });
}
