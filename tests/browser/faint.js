// Texts whose contrast with what is behind them is below 4.3 : 1.
() => {
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const text = getComputedStyle(e).backgroundColor;
      const c = rgb(text);
      if (text.startsWith("rgb") && (c.length < 4 || c[3] > 0.99)) return c;
    }
    return rgb(getComputedStyle(document.body).backgroundColor);
  };
  const faint = new Set();
  for (const e of document.querySelectorAll("main *, header *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest("svg")) continue;
    const [a, b] = [rgb(getComputedStyle(e).color), behind(e)].map(luminance).sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.3) faint.add(`${ratio.toFixed(1)} ${e.tagName}.${e.className}: ${e.textContent.trim().slice(0, 30)}`);
  }
  return [...faint];
}
