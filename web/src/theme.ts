// The theme of the page, which figures and the playground share.

export const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

/** A color of the page's style. */
export const style = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
