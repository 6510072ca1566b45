// Names of users: which can be one, and which are the same.
import { expect, it } from 'vitest';
import { isUserName, userNameOf } from '../../src/model/user.ts';

it('names of people may be in any script, without invisible characters or changes of direction', () => {
  for (const name of ['ada', 'ada@example.org', 'Ada Lovelace', '小明', 'Ж', 'nrelop_x_y_z', 'é', 'x'.repeat(254)]) {
    expect(isUserName(name), name).toBe(true);
  }
  const hidden = ['\u200b', '\u202e', '\u00ad', '\u2066', '\ufeff', '\n'].map((odd) => `a${odd}da`);
  for (const name of [...hidden, '', ' ', 'ada ', ' ada', '\ufeffada', 'e\u0301', 'x'.repeat(255)])
    expect(isUserName(name), JSON.stringify(name)).toBe(false);
});

it('Unicode forms of a name are one, and letter cases of an e-mail address are', () => {
  expect(userNameOf('Ame\u0301lie')).toBe('Amélie');
  expect(userNameOf('Ada@Example.ORG')).toBe('ada@example.org');
  expect(userNameOf('Ada')).toBe('Ada');
});
