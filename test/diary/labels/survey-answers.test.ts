import { expect, it } from 'vitest';
import { surveyAnswers } from '../../../src/diary/labels/survey-answers.ts';
import type { Entry } from '../../../src/model/entry.ts';

const answersOf = (data: Entry['data']) =>
  surveyAnswers({ metadata: { key: 'manual/trip_user_input', type: 'message', platform: 'ios', write_ts: 1 }, data });

it('lists the answers of a survey without the fields that the form adds', () => {
  const xmlResponse = '<data id="x"><start>9</start><g><with_whom>my  son</with_whom></g><why/></data>';
  const jsonDocResponse = {
    data: { attrid: 'x', start: '9', g: { with_whom: 'my son', why: ' ', times: [1, 2] }, meta: { instanceID: 'u' } },
  };
  expect(answersOf({ xmlResponse })).toEqual([['with whom', 'my  son']]);
  expect(answersOf({ xmlResponse, jsonDocResponse })).toEqual([
    ['with whom', 'my son'],
    ['times', '1'],
    ['times', '2'],
  ]);
  expect(answersOf({ label: 'x' })).toEqual([]);
});

it('shortens a survey with many long answers', () => {
  const answers = answersOf({ jsonDocResponse: { q: Array(100).fill('x'.repeat(1000)) } });
  expect([answers.length, answers[0]![1].length]).toEqual([30, 200]);
});
