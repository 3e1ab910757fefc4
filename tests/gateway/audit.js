// Rules of accessibility that can be checked by looking at a panel: what breaks them, as texts.
() => {
  const side = document.querySelector("#side");
  const visible = [...side.querySelectorAll("*")].filter((e) => e.checkVisibility());
  const shown = (e) => e.outerHTML.slice(0, 90);
  const faults = [];

  const name = (e) => e.getAttribute("aria-label") || (e.labels?.length && e.labels[0].textContent.trim()) || e.textContent.trim();
  for (const e of visible.filter((e) => e.matches("button, input, a, summary, [role=region], [role=group]"))) {
    if (!name(e)) faults.push(`no name: ${shown(e)}`);
  }

  for (const { id } of side.querySelectorAll("[id]")) {
    if (document.querySelectorAll(`#${CSS.escape(id)}`).length > 1) faults.push(`id twice: ${id}`);
  }
  for (const e of side.querySelectorAll("[aria-labelledby]")) {
    if (!document.getElementById(e.getAttribute("aria-labelledby"))) faults.push(`no such label: ${shown(e)}`);
  }

  let level = 1;
  for (const heading of visible.filter((e) => /^H[1-6]$/.test(e.tagName))) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) faults.push(`level skipped: ${shown(heading)}`);
    level = now;
  }

  for (const e of side.querySelectorAll("li")) {
    if (!e.parentElement.matches("ul, ol")) faults.push(`not in a list: ${shown(e)}`);
  }
  for (const e of side.querySelectorAll(":is(ul, ol) > :not(li)")) faults.push(`not in a list: ${shown(e)}`);

  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const [r, g, b, a = 1] = channels(getComputedStyle(at).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  for (const e of visible) {
    if (e.disabled || ![...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const [front, back] = [luminance(channels(getComputedStyle(e).color).slice(0, 3)), luminance(ground(e))];
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (ratio < 4.5) faults.push(`contrast: ${ratio.toFixed(2)} ${shown(e)}`);
  }
  return faults;
}
