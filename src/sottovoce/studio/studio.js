// What the pages need of the browser: a picture as a file, and nothing else. No request leaves the machine.
window.studio = {
  save(name, type, content) {
    const link = document.createElement("a");
    link.href = typeof content === "string" && content.startsWith("data:") ? content : URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    document.body.appendChild(link);
    link.click();
    link.remove();
  },
  append(id, points) { // to the curves of a chart, by their names; what is there is not sent again
    const element = getElement(id), chart = element?.chart;
    if (!chart) return element && setTimeout(() => this.append(id, points), 50); // it is about to be drawn
    const series = chart.getOption().series.filter((curve) => points[curve.name]);
    chart.setOption({ series: series.map((curve) => ({ name: curve.name, data: [...curve.data, ...points[curve.name]] })) });
  },
  picture(id, name, kind) { // of the drawing in this element, as SVG or, twice as large, as PNG; always on white
    const svg = document.getElementById(id).querySelector("svg");
    const copy = svg.cloneNode(true), box = svg.getBoundingClientRect();
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", Math.round(box.width));
    copy.setAttribute("height", Math.round(box.height));
    for (const hidden of copy.querySelectorAll('[stroke="transparent"]')) hidden.remove();
    const text = new XMLSerializer().serializeToString(copy);
    if (kind === "svg") return this.save(name + ".svg", "image/svg+xml", text);
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * box.width;
      canvas.height = 2 * box.height;
      const context = canvas.getContext("2d");
      context.fillStyle = "#ffffff";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      this.save(name + ".png", "image/png", canvas.toDataURL("image/png"));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  },
};
