// Tabs as the ARIA practices describe them: one is in the tab order, and the arrow keys move between them.

export function tabs(list, choose) {
  const all = [...list.querySelectorAll('[role=tab]')];

  function select(chosen) {
    if (chosen.getAttribute('aria-selected') === 'true') return;
    for (const tab of all) {
      tab.setAttribute('aria-selected', tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
    }
    choose(chosen);
  }

  list.addEventListener('click', ({ target }) => all.includes(target) && select(target));
  list.addEventListener('keydown', (event) => {
    const at = all.indexOf(document.activeElement);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = all[(to + all.length) % all.length];
    next.focus();
    select(next);
  });
}
