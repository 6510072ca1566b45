// Stage "modes": which word a section is shown with.
import { describe, expect, it } from 'vitest';
import { isMotorisedMode, motionType, sensedMode } from '../../../src/analysis/dwell/infer-mode.ts';
import { motionTypes } from '../../../src/model/payloads.ts';

const { IN_VEHICLE, BICYCLING, ON_FOOT, WALKING, UNKNOWN, AIR_OR_HSR } = motionTypes;

/** A section at one speed, km/h, for so many km. */
function steady(kmh: number, km: number) {
  const speed = kmh / 3.6;
  return { distance: km * 1000, duration: (km * 1000) / speed, speeds: [0, ...Array<number>(20).fill(speed)] };
}

describe('what the phone says', () => {
  it('stands where speed and length allow it', () => {
    expect(sensedMode(WALKING, steady(5, 2))).toBe('MotionTypes.WALKING');
    expect(sensedMode(ON_FOOT, steady(5, 2))).toBe('MotionTypes.ON_FOOT');
    expect(sensedMode(BICYCLING, steady(18, 8))).toBe('MotionTypes.BICYCLING');
    expect(sensedMode(IN_VEHICLE, steady(50, 20))).toBe('MotionTypes.IN_VEHICLE');
    expect(sensedMode(UNKNOWN, steady(18, 8))).toBe('MotionTypes.UNKNOWN');
  });

  it('a code without a name is unknown', () => {
    expect(sensedMode(6, steady(18, 8))).toBe('MotionTypes.UNKNOWN');
  });
});

describe('what speed decides', () => {
  it('faster than 150 km/h on average is a plane or a fast train', () => {
    expect(sensedMode(IN_VEHICLE, steady(151, 300))).toBe('PredictedModeTypes.AIR_OR_HSR');
    expect(sensedMode(IN_VEHICLE, steady(149, 300))).toBe('MotionTypes.IN_VEHICLE');
  });

  it('so is more than 100 km/h on average with a tenth above 150', () => {
    const fast = steady(110, 300);
    expect(motionType(IN_VEHICLE, fast)).toBe(IN_VEHICLE);
    const speeds = fast.speeds.map((s, i) => (i % 5 === 1 ? 160 / 3.6 : s));
    expect(motionType(IN_VEHICLE, { ...fast, speeds })).toBe(AIR_OR_HSR);
  });

  it('ten km on foot at more than 10 km/h, or a hundred by bicycle at more than 20, are unknown', () => {
    expect(motionType(ON_FOOT, steady(10.5, 10.1))).toBe(UNKNOWN);
    expect(motionType(ON_FOOT, steady(9.5, 10.1))).toBe(ON_FOOT);
    expect(motionType(ON_FOOT, steady(10.5, 9.9))).toBe(ON_FOOT);
    expect(motionType(BICYCLING, steady(20.5, 101))).toBe(UNKNOWN);
    expect(motionType(BICYCLING, steady(20.5, 99))).toBe(BICYCLING);
  });

  it('unknown motion at the speed of a walk is a walk, faster than a bicycle a vehicle', () => {
    expect(sensedMode(UNKNOWN, steady(1.7 * 3.6, 2))).toBe('PredictedModeTypes.WALKING');
    expect(sensedMode(UNKNOWN, steady(40, 9))).toBe('MotionTypes.IN_VEHICLE');
  });

  it('a walk faster than a bicycle is a vehicle', () => {
    expect(sensedMode(WALKING, steady(40, 9))).toBe('MotionTypes.IN_VEHICLE');
  });

  it('a section of no length or no duration keeps the word of the phone', () => {
    expect(sensedMode(WALKING, { distance: 0, duration: 0, speeds: [0] })).toBe('MotionTypes.WALKING');
    expect(sensedMode(UNKNOWN, { distance: 0, duration: 0, speeds: [0] })).toBe('MotionTypes.UNKNOWN');
  });
});

describe('isMotorisedMode', () => {
  it('is true for modes that neither feet nor a bicycle make', () => {
    const motorised = ['MotionTypes.IN_VEHICLE', 'PredictedModeTypes.AIR_OR_HSR', 'PredictedModeTypes.BUS'];
    const others = ['WALKING', 'ON_FOOT', 'RUNNING', 'BICYCLING', 'UNKNOWN', 'STILL'].map((m) => `MotionTypes.${m}`);
    expect(motorised.filter(isMotorisedMode)).toEqual(motorised);
    expect(others.filter(isMotorisedMode)).toEqual([]);
  });
});
