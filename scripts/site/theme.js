"use strict";
// Before the page is drawn, so that it does not flash. Without a choice of the reader the system decides.
(() => {
  const root = document.documentElement;
  const read = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };
  const chosen = read();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  addEventListener("DOMContentLoaded", () => {
    const menu = document.querySelector("details.menu");
    if (menu !== null && matchMedia("(min-width: 60rem)").matches) menu.open = true;
    document.querySelector("button.theme").addEventListener("click", () => {
      const isDark =
        root.dataset.theme === undefined
          ? matchMedia("(prefers-color-scheme: dark)").matches
          : root.dataset.theme === "dark";
      root.dataset.theme = isDark ? "light" : "dark";
      try {
        localStorage.setItem("theme", root.dataset.theme);
      } catch {
        // Then it lasts for this page.
      }
    });
  });
})();
