declare module "d3-contour" {
  interface Region {
    coordinates: [number, number][][][];
  }
  interface Contouring {
    size(size: [number, number]): Contouring;
    thresholds(values: number[]): Contouring;
    (values: number[]): Region[];
  }
  export function contours(): Contouring;
}
