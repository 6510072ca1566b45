import { type LatLon, metresPerDegree, shortWayRound } from './distance.ts';

/** Metres east and north of a place. At 50° latitude, lengths 50 km away are wrong by up to 1 %. */
export class Plane {
  private readonly origin: LatLon;
  private readonly north: number; // m per degree of latitude
  private readonly east: number; // m per degree of longitude

  constructor(origin: LatLon, north = metresPerDegree) {
    this.origin = origin;
    this.north = north;
    this.east = north * Math.max(Math.cos((origin.latitude * Math.PI) / 180), 1e-6);
  }

  x(longitude: number): number {
    return shortWayRound(longitude - this.origin.longitude) * this.east;
  }

  y(latitude: number): number {
    return (latitude - this.origin.latitude) * this.north;
  }

  longitude(x: number): number {
    return shortWayRound(x / this.east + this.origin.longitude);
  }

  latitude(y: number): number {
    return Math.max(-90, Math.min(90, y / this.north + this.origin.latitude));
  }
}
