/** Makes a row of a table whose last cell is a text: `row('title', 1)`text``. Blanks around the text do not count. */
export const row =
  <Cells extends unknown[]>(...cells: Cells) =>
  (texts: TemplateStringsArray, ...values: unknown[]): [...Cells, string] => [
    ...cells,
    String.raw(texts, ...values).trim(),
  ];
