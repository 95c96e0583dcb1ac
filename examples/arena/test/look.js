// What runs in the page to look at it.

/** The texts whose contrast is below what WCAG AA asks for. */
export function contrasts() {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const light = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => ((part / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return color === 'rgba(0, 0, 0, 0)' ? behind(element.parentElement) : color;
  };
  const faint = new Set();
  for (const element of document.body.querySelectorAll('*')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) || element.tagName === 'INPUT';
    if (!hasText || !element.checkVisibility() || element.closest('.hidden, thead')) continue;
    const [one, two] = [light(getComputedStyle(element).color), light(behind(element))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < 4.5) faint.add(`${element.id || element.className || element.tagName}: ${ratio.toFixed(2)}`);
  }
  return [...faint];
}

/** What does not fit. */
export function layout() {
  const box = (element) => element.getBoundingClientRect();
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
  const name = (element) => element.id || element.className;
  const onTop = (element) => {
    const { left, top, width, height } = box(element);
    return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  };
  const parts = shown('header, .sale, .tabs, .board, .you, .meter, #hit-note, #score, #sale-text, #buy, #clock');
  const apart = (a, b) => a.contains(b) || b.contains(a) || a.closest('.hit') || b.closest('.hit') ||
    box(a).right <= box(b).left || box(b).right <= box(a).left || box(a).bottom <= box(b).top || box(b).bottom <= box(a).top;
  return {
    isWide: document.documentElement.scrollWidth > innerWidth,
    hiddenButtons: shown('#score, #buy, [role=tab]').filter((button) => !onTop(button)).map(name),
    smallButtons: shown('button').filter((button) => box(button).height < 36).map(name),
    isMyRowVisible: onTop(document.querySelector('#around .me .points')),
    overlapping: parts.flatMap((a, index) => parts.slice(index + 1).filter((b) => !apart(a, b)).map((b) => `${name(a)} ${name(b)}`)),
  };
}
