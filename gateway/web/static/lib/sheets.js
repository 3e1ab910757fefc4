// @ts-check
// Style sheets that come when they are needed.

/**
 * Load one; it rejects where that fails.
 * @param {string} sheet its address
 */
export const styled = (sheet) =>
  new Promise((onload, onerror) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href: sheet, onload, onerror });
    document.head.append(link);
  });
